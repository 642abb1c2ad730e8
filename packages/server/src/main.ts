#!/usr/bin/env node
import cluster from "node:cluster"
import type { Terminal } from "./cli/command.js"
import { runCommand } from "./cli/run-command.js"
import { INTERRUPT } from "./workers.js"

const argv = process.argv.slice(2)
const stopping = new AbortController()
for (const signal of ["SIGINT", "SIGTERM"] as const) {
  process.on(signal, () => {
    // A second Ctrl-C ends the process at once.
    if (stopping.signal.aborted && signal === "SIGINT") process.exit(130)
    // Ctrl-C reaches a whole group of processes. Workers wait for the signal of their parent.
    if (cluster.isWorker && signal === "SIGINT") return
    stopping.abort(signal)
  })
}
if (cluster.isWorker) process.on(INTERRUPT, () => stopping.abort("SIGINT"))
// `sluice top | head` closes the pipe.
process.stdout.on("error", (error: NodeJS.ErrnoException) => {
  if (error.code !== "EPIPE") throw error
  process.exit(0)
})

const terminal: Terminal = {
  out: (text) => void process.stdout.write(text),
  err: (text) => void process.stderr.write(text),
  isInteractive: process.stdout.isTTY === true && !argv.includes("--json"),
  env: process.env,
  signal: stopping.signal,
}

// A worker of `serve --workers` runs the command alone.
const own = cluster.isWorker ? withoutWorkers(argv) : argv
process.exitCode = await runCommand(own, terminal)
// The channel to its parent would keep a worker alive.
if (cluster.isWorker) process.exit()

function withoutWorkers(args: readonly string[]): string[] {
  return args.flatMap((arg, i) => {
    if (arg.startsWith("--workers=") || arg === "--workers" || args[i - 1] === "--workers") return []
    return arg
  })
}
