import cluster, { type Worker } from "node:cluster"
import type { ExitCode, Terminal } from "./cli/command.js"
import { shareMetrics } from "./worker-metrics.js"

/** A worker that ends sooner than this after its start, in milliseconds, is replaced after a pause of this length. */
const SOONEST = 1_000

/** The signal that passes Ctrl-C on to workers. They ignore SIGINT itself, which a terminal sends to the whole group of processes. */
export const INTERRUPT = "SIGUSR2"

/** The message of a worker whose listeners are all open. */
const STARTED = "sluice: started"

/** In a worker: says that it serves. */
export function reportStart(): void {
  process.send?.(STARTED)
}

/**
 * Runs the same command in several processes that share the listeners. A process that dies is replaced. Signals go to all of them, so each
 * drains by itself.
 */
export async function startWorkers(count: number, terminal: Terminal): Promise<ExitCode> {
  let isStopping = false
  let hasStarted = false
  let failure: number | undefined
  const started = new Map<Worker, number>()

  const fork = () => {
    if (isStopping) return
    const worker = cluster.fork()
    started.set(worker, performance.now())
    closeForgottenConnections(worker)
  }
  shareMetrics(() => started.keys())
  const signalAll = (signal: NodeJS.Signals) => {
    for (const worker of started.keys()) worker.process.kill(signal)
  }
  const onHangUp = () => signalAll("SIGHUP")
  process.on("SIGHUP", onHangUp)
  // Not the event "listening", which comes for the first of two listeners.
  cluster.on("message", (_, message: unknown) => {
    if (message === STARTED) hasStarted = true
  })

  return new Promise((resolve) => {
    const stop = () => {
      isStopping = true
      signalAll(terminal.signal.reason === "SIGINT" ? INTERRUPT : "SIGTERM")
      endIfEmpty()
    }
    const endIfEmpty = () => {
      if (!isStopping || started.size > 0) return
      process.off("SIGHUP", onHangUp)
      resolve(hasStarted ? 0 : exitCodeOf(failure))
    }
    terminal.signal.addEventListener("abort", stop)
    cluster.on("exit", (worker, code, signal) => {
      const lived = performance.now() - (started.get(worker) ?? 0)
      started.delete(worker)
      if (!isStopping) {
        terminal.err(`worker ${worker.process.pid} ended (${signal ?? code})\n`)
        failure ??= code
        // If no worker has ever started, the next ones would fail, too.
        if (hasStarted) setTimeout(fork, lived > SOONEST ? 0 : SOONEST)
        else stop()
      }
      endIfEmpty()
    })
    for (let i = 0; i < count; i += 1) fork()
  })
}

/** The command ends as its worker did. Without a worker that failed, it was interrupted. */
function exitCodeOf(failure: number | undefined): ExitCode {
  return failure === 1 || failure === 2 ? failure : 3
}

/**
 * Closes the connections that Node has handed to a worker and that the worker did not live to take: Node forgets them, and their clients
 * would wait for ever. Of each listener there is at most one.
 */
function closeForgottenConnections(worker: Worker): void {
  const handed = new Map<string, { close(): void }>()
  const send = worker.process.send as (...args: unknown[]) => boolean
  worker.process.send = (...args: unknown[]) => {
    const [message, handle] = args as [{ act?: string; key?: string }, { close(): void } | undefined]
    if (message.act === "newconn" && handle !== undefined) handed.set(message.key ?? "", handle)
    return send.apply(worker.process, args)
  }
  worker.process.once("exit", () => {
    // Node has closed the others already, and a second time does nothing.
    for (const handle of handed.values()) handle.close()
  })
}
