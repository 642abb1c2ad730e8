import cluster, { type Worker } from "node:cluster"
import type { ExitCode, Terminal } from "./cli/command.js"

/** A worker that ends sooner than this after its start, in milliseconds, is replaced after a pause of this length. */
const SOONEST = 1_000

/**
 * Runs the same command in several processes that share the listeners. A process that dies is replaced. Signals go to all of them, so each
 * drains by itself.
 */
export async function startWorkers(count: number, terminal: Terminal): Promise<ExitCode> {
  let isStopping = false
  let hasListened = false
  const started = new Map<Worker, number>()

  const fork = () => {
    if (!isStopping) started.set(cluster.fork(), performance.now())
  }
  const signalAll = (signal: NodeJS.Signals) => {
    for (const worker of started.keys()) worker.process.kill(signal)
  }
  const onHangUp = () => signalAll("SIGHUP")
  process.on("SIGHUP", onHangUp)
  cluster.on("listening", () => {
    hasListened = true
  })

  return new Promise((resolve) => {
    const stop = () => {
      isStopping = true
      signalAll("SIGTERM")
      endIfEmpty()
    }
    const endIfEmpty = () => {
      if (!isStopping || started.size > 0) return
      process.off("SIGHUP", onHangUp)
      resolve(hasListened ? 0 : 3)
    }
    terminal.signal.addEventListener("abort", stop)
    cluster.on("exit", (worker, code, signal) => {
      const lived = performance.now() - (started.get(worker) ?? 0)
      started.delete(worker)
      if (!isStopping) {
        terminal.err(`worker ${worker.process.pid} ended (${signal ?? code})\n`)
        // If no worker has ever listened, the next ones would fail, too.
        if (hasListened) setTimeout(fork, lived > SOONEST ? 0 : SOONEST)
        else stop()
      }
      endIfEmpty()
    })
    for (let i = 0; i < count; i += 1) fork()
  })
}
