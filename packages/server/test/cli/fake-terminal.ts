import type { ExitCode, Terminal } from "../../src/cli/command.js"
import { runCommand } from "../../src/cli/run-command.js"

export interface Run {
  readonly code: ExitCode
  readonly out: string
  readonly err: string
}

export interface FakeOptions {
  readonly env?: Readonly<Record<string, string>>
  readonly isInteractive?: boolean
  readonly signal?: AbortSignal
  /** What standard input holds. */
  readonly input?: string | Uint8Array
  /** Called with everything that is written to standard output. */
  readonly onOut?: (text: string) => void
}

/** Runs `sluice <argv>` as a shell would, and collects what it writes. */
export async function sluice(argv: readonly string[], options: FakeOptions = {}): Promise<Run> {
  const { env = {}, isInteractive = false, signal = new AbortController().signal, input, onOut } = options
  let [out, err] = ["", ""]
  const terminal: Terminal = {
    out: (text) => {
      out += text
      onOut?.(text)
    },
    err: (text) => {
      err += text
    },
    isInteractive,
    env,
    signal,
    ...(input !== undefined && { input: bytesOf(input) }),
  }
  const code = await runCommand(argv, terminal)
  return { code, out, err }
}

/** An input in small pieces, so that lines and characters are cut anywhere. */
async function* bytesOf(input: string | Uint8Array): AsyncGenerator<Uint8Array> {
  const data = typeof input === "string" ? Buffer.from(input) : input
  for (let at = 0; at < data.length; at += 1_009) yield data.subarray(at, at + 1_009)
}
