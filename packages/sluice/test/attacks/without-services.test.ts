import { spawn } from "node:child_process"
import { once } from "node:events"
import { existsSync, readFileSync } from "node:fs"
import { mkdtemp, rm, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterEach, beforeEach, expect, test, vi } from "vitest"

const script = new URL("../../../../scripts/without-services.mjs", import.meta.url).href

let folder: string
let hook: string
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "sluice-hook-"))
  hook = join(folder, "policy-rc.d")
})
afterEach(() => rm(folder, { recursive: true }))

/** A process that takes a while to install, like apt-get. */
function installing(seconds: number) {
  const code = `
    import { spawnSync } from "node:child_process"
    import { withoutServices } from ${JSON.stringify(script)}
    withoutServices(() => spawnSync("sleep", ["${seconds}"]), ${JSON.stringify(hook)})
  `
  return spawn(process.execPath, ["--input-type=module", "-e", code], { stdio: "ignore", detached: true })
}

test.each(["SIGINT", "SIGTERM", "SIGKILL"] as const)(
  "an installation killed by %s leaves no policy-rc.d behind",
  async (signal) => {
    const child = installing(60)
    await vi.waitFor(() => expect(existsSync(hook)).toBe(true), { timeout: 25_000 })
    // Sent to the whole process group, as a terminal does.
    process.kill(-(child.pid as number), signal)
    await vi.waitFor(() => expect(existsSync(hook)).toBe(false), { timeout: 25_000 })
  },
)

test("after an installation its policy-rc.d is removed, and one that existed before stays", async () => {
  const [code] = await once(installing(0.1), "exit")
  expect([code, existsSync(hook)]).toEqual([0, false])
  await writeFile(hook, "somebody else's")
  await once(installing(0.1), "exit")
  expect(readFileSync(hook, "utf8")).toBe("somebody else's")
})
