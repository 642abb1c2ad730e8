import { execFile } from "node:child_process"
import { cp, mkdir, mkdtemp, rm, symlink, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"

export const root = fileURLToPath(new URL("../../../..", import.meta.url))

/** A fresh project outside the repository that has the packed package and Node's types installed, no more. */
export async function createConsumer(packed: string, files: Record<string, string>) {
  const folder = await mkdtemp(join(tmpdir(), "sluice-consumer-"))
  await mkdir(join(folder, "node_modules/@types"), { recursive: true })
  await cp(packed, join(folder, "node_modules/sluice"), { recursive: true })
  await symlink(join(root, "node_modules/@types/node"), join(folder, "node_modules/@types/node"))
  const all = { "package.json": JSON.stringify({ private: true, type: "module" }), ...files }
  for (const [name, text] of Object.entries(all)) await writeFile(join(folder, name), text)
  return { folder, [Symbol.asyncDispose]: () => rm(folder, { recursive: true }) }
}

/** Runs a program to its end and returns what it printed; rejects with all of its output when it fails. */
export function run(cwd: string, program: string, ...args: string[]): Promise<string> {
  return new Promise((resolve, reject) => {
    execFile(program, args, { cwd }, (error, stdout, stderr) => {
      if (error) reject(new Error(`${program} ${args.join(" ")}\n${stdout}${stderr}`, { cause: error }))
      else resolve(stdout)
    })
  })
}
