// Differences between Node, Bun, Deno, Workers and browsers. Any of these functions may be missing.

interface Runtime {
  setImmediate?(run: () => void): unknown
  process?: { emitWarning?(message: string): void }
}

/** Its methods are read at each use, because tests replace them. */
const runtime = globalThis as unknown as Runtime

/** Calls `run` after the timers and sockets that are ready now. */
export function soon(run: () => void): void {
  if (runtime.setImmediate !== undefined) runtime.setImmediate(run)
  else setTimeout(run, 0)
}

/** Lets the process exit although the timer is pending. Timers that are numbers never keep a process alive. */
export function unref<T>(timer: T): T {
  if (typeof timer === "object") (timer as { unref?(): void } | null)?.unref?.()
  return timer
}

/** Emits a process warning, for a mistake that no caller can catch. */
export function warn(message: string): void {
  if (runtime.process?.emitWarning !== undefined) runtime.process.emitWarning(message)
  else console.warn(message)
}
