import cluster, { type Worker } from "node:cluster"
import type { ExitCode, Terminal } from "./cli/command.js"

/** A worker that ends sooner than this after its start, in milliseconds, is not replaced: it would fail again. */
const SOONEST = 1_000

/**
 * Runs the same command in several processes that share the listeners. A process that dies is replaced. Signals go to all of them, so each
 * drains by itself.
 */
export async function startWorkers(count: number, terminal: Terminal): Promise<ExitCode> {
  let isStopping = false
  let hasFailed = false
  const started = new Map<Worker, number>()

  const fork = () => {
    const worker = cluster.fork()
    started.set(worker, performance.now())
  }

  const signalAll = (signal: NodeJS.Signals) => {
    for (const worker of started.keys()) worker.process.kill(signal)
  }
  const onHangUp = () => signalAll("SIGHUP")
  process.on("SIGHUP", onHangUp)
  terminal.signal.addEventListener("abort", () => {
    isStopping = true
    signalAll("SIGTERM")
  })

  return new Promise((resolve) => {
    cluster.on("exit", (worker, code, signal) => {
      const lived = performance.now() - (started.get(worker) ?? 0)
      started.delete(worker)
      if (!isStopping) {
        terminal.err(`worker ${worker.process.pid} ended (${signal ?? code})\n`)
        if (lived > SOONEST) fork()
        else {
          hasFailed = true
          isStopping = true
          signalAll("SIGTERM")
        }
      }
      if (started.size > 0) return
      process.off("SIGHUP", onHangUp)
      resolve(hasFailed ? 3 : 0)
    })
    for (let i = 0; i < count; i += 1) fork()
  })
}
