import { library } from "sluice/redis"
import { type Asked, ask, isForbidden, isUnknownCommand } from "./ask.js"
import { type Finding, finding } from "./finding.js"

export interface LibraryState {
  readonly isLoaded: boolean
  readonly findings: readonly Finding[]
}

/** Looks for the Lua library of this version and for those of other versions. */
export async function checkLibrary(client: Asked): Promise<LibraryState> {
  const check = "library"
  const listed = await ask(client, "FUNCTION", "LIST", "LIBRARYNAME", "sluice_*")
  // Without the right to list, a call of the function itself still tells whether it is there.
  const called = await ask(client, "FCALL", `${library.name}_ro`, "0")
  if (isUnknownCommand(called.error)) {
    const message =
      "FCALL is not available; Sluice sends its library as a script, which takes Redis about twice the time"
    const fix = isUnknownCommand(listed.error)
      ? "Use Redis 7 or Valkey."
      : "Remove rename-command for FCALL from the configuration of Redis."
    return { isLoaded: false, findings: [finding(check, "warning", message, fix), ...oldOnes(listed.value)] }
  }
  const isLoaded = !isForbidden(called.error) && !/Function not found/.test(called.error ?? "")
  const state = isLoaded
    ? `${library.name} is loaded`
    : `${library.name} is not loaded; the first call loads it, or \`sluice library | redis-cli -x FUNCTION LOAD\``
  return { isLoaded, findings: [finding(check, "ok", state), ...oldOnes(listed.value)] }
}

function oldOnes(listed: unknown): Finding[] {
  const names = libraryNames(listed).filter((name) => name !== library.name)
  if (names.length === 0) return []
  const fix = `When no process uses another version any more: ${names.map((name) => `FUNCTION DELETE ${name}`).join("; ")}`
  return [finding("library", "warning", `libraries of other versions are loaded: ${names.join(", ")}`, fix)]
}

/** The names in a reply of FUNCTION LIST. Other libraries may begin alike. */
function libraryNames(listed: unknown): string[] {
  if (!Array.isArray(listed)) return []
  return listed.flatMap((each: unknown) => {
    const fields = Array.isArray(each) ? each.map(String) : []
    const name = fields[fields.indexOf("library_name") + 1] ?? ""
    return /^sluice_[0-9a-f]+$/.test(name) ? [name] : []
  })
}
