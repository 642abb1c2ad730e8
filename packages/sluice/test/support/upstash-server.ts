import { once } from "node:events"
import { createServer, type IncomingMessage, type ServerResponse } from "node:http"
import type { AddressInfo } from "node:net"
import { Redis } from "ioredis"

/** A server that speaks the REST protocol of Upstash, in front of a Redis server. */
export interface UpstashServer {
  readonly url: string
  readonly token: string
  /** The commands that it was sent, without their arguments, in capitals. */
  readonly commands: string[]
  /** Has each command answered by something else than Redis, where a function is returned. */
  intercept?: ((command: readonly string[]) => Answer | undefined) | undefined
  close(): Promise<void>
}

/** An error of the server, or a connection that breaks before or after Redis has run the command. */
type Answer = { readonly error: string; readonly status?: number } | "break before" | "break after"

type Result = { result: unknown } | { error: string }

const token = "a-token"

/**
 * `POST /` takes a command as an array, `POST /pipeline` an array of them. A refused command is answered by 400 and
 * `{ "error": … }`, in a pipeline by 200 and the error in its place. Texts are in base64 if the client asks for it.
 */
export async function startUpstash(port: number, at = 0): Promise<UpstashServer> {
  const redis = new Redis({ port, host: "127.0.0.1", maxRetriesPerRequest: 0 })
  redis.on("error", () => {})
  const commands: string[] = []

  const run = async (
    command: readonly (string | number)[],
    server: UpstashServer,
  ): Promise<Result | "break"> => {
    const [name = "", ...args] = command.map(String)
    commands.push(name.toUpperCase())
    const answer = server.intercept?.([name, ...args])
    if (answer === "break before") return "break"
    if (typeof answer === "object") return { error: answer.error }
    try {
      const result = await redis.call(name, ...args)
      return answer === "break after" ? "break" : { result }
    } catch (error) {
      return { error: (error as Error).message }
    }
  }

  const handle = async (request: IncomingMessage, response: ServerResponse, server: UpstashServer) => {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk as Buffer)
    const send = (status: number, body: unknown) => {
      response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body))
    }
    if (request.headers.authorization !== `Bearer ${token}`) {
      send(401, { error: "WRONGPASS invalid or missing auth token" })
      return
    }
    const body = JSON.parse(Buffer.concat(chunks).toString()) as string[] | string[][]
    const isPipeline = request.url === "/pipeline"
    const results: (Result | "break")[] = []
    for (const command of isPipeline ? (body as string[][]) : [body as string[]]) {
      results.push(await run(command, server))
    }
    if (results.includes("break")) {
      request.socket.destroy()
      return
    }
    const inBase64 = request.headers["upstash-encoding"] === "base64"
    const told = (results as Result[]).map((each) =>
      "result" in each && inBase64 ? { result: base64(each.result) } : each,
    )
    if (isPipeline) send(200, told)
    else send("error" in (told[0] as Result) ? 400 : 200, told[0])
  }

  const http = createServer((request, response) => {
    handle(request, response, server).catch(() => request.socket.destroy())
  })
  http.listen(at, "127.0.0.1")
  await once(http, "listening")
  const server: UpstashServer = {
    url: `http://127.0.0.1:${(http.address() as AddressInfo).port}`,
    token,
    commands,
    async close() {
      redis.disconnect()
      http.closeAllConnections()
      await new Promise((resolve) => http.close(resolve))
    },
  }
  return server
}

function base64(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(base64)
  return typeof value === "string" && value !== "OK" ? Buffer.from(value).toString("base64") : value
}
