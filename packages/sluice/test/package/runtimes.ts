import { existsSync, readFileSync } from "node:fs"
import { delimiter, join } from "node:path"
import { root } from "./consumer.js"

/** The runtimes are installed for Linux on x64 only. There, one that is missing fails its tests. */
export const hasRuntimes = process.platform === "linux" && process.arch === "x64"

const installed = join(root, "runtimes/node_modules")

const versionOf = (name: string): string =>
  hasRuntimes && existsSync(join(installed, name))
    ? JSON.parse(readFileSync(join(installed, name, "package.json"), "utf8")).version
    : "not installed"

/** A command line that runs a script. */
export interface Runtime {
  readonly name: string
  readonly command: readonly [program: string, ...args: string[]]
}

const node = (major: number): Runtime => ({
  name: `Node ${versionOf(`node${major}`)}`,
  command: [join(installed, `node${major}/bin/node`)],
})

/** The runtimes that run scripts. The tests themselves run on Node 20 in CI. */
export const runtimes: readonly Runtime[] = [
  { name: `Node ${process.versions.node}`, command: [process.execPath] },
  ...(hasRuntimes
    ? [
        node(22),
        node(24),
        {
          name: `Bun ${versionOf("@oven/bun-linux-x64-baseline")}`,
          command: [join(installed, "@oven/bun-linux-x64-baseline/bin/bun"), "run"] as const,
        },
        {
          name: `Deno ${versionOf("@deno/linux-x64-glibc")}`,
          command: [
            join(installed, "@deno/linux-x64-glibc/deno"),
            ...["run", "-A", "--quiet", "--no-lock", "--node-modules-dir=manual"],
          ] as const,
        },
      ]
    : []),
]

export const workerd = join(installed, "@cloudflare/workerd-linux-64/bin/workerd")

/** A browser on the PATH. */
export function findChromium(): string | undefined {
  const names = ["chromium", "chromium-browser", "google-chrome"]
  return (process.env["PATH"] ?? "")
    .split(delimiter)
    .flatMap((folder) => names.map((name) => join(folder, name)))
    .find((path) => existsSync(path))
}
