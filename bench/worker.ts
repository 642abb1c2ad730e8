import { type ChildProcess, fork } from "node:child_process"

/** A process of its own that answers one request at a time. */
export interface Worker<Request, Reply> {
  readonly name: string
  ask(request: Request): Promise<Reply>
  stop(): void
}

const alive = new Set<ChildProcess>()
process.on("exit", () => {
  for (const child of alive) child.kill()
})

/** Starts a module of this folder; it gets the arguments, and every request as a message. */
export function startWorker<Request, Reply>(
  name: string,
  module: string,
  args: readonly string[] = [],
): Worker<Request, Reply> {
  const child = fork(new URL(module, import.meta.url), args, { serialization: "advanced" })
  alive.add(child)
  child.once("exit", () => alive.delete(child))
  return {
    name,
    ask: (request) =>
      new Promise((resolve, reject) => {
        const failed = () => reject(new Error(`${name} ended before it answered`))
        child.once("exit", failed)
        child.once("message", (reply) => {
          child.off("exit", failed)
          resolve(reply as Reply)
        })
        child.send(request as object)
      }),
    stop() {
      child.kill()
    },
  }
}

/** The other end: answers every request, and ends with the process that sends them. */
export function serve<Request, Reply>(reply: (request: Request) => Promise<Reply>): void {
  process.on("disconnect", () => process.exit())
  process.on("message", async (request) => {
    process.send?.(await reply(request as Request))
  })
}
