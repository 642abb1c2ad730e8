import { once } from "node:events"
import { readFileSync, writeFileSync } from "node:fs"
import { createServer, type IncomingMessage } from "node:http"
import { type AddressInfo, connect } from "node:net"
import { join } from "node:path"
import { onTestFinished } from "vitest"
import { freePort, until } from "../../../sluice/test/support/server-process.js"
import { temporaryFolder } from "./folder.js"
import { root, startProgram } from "./program.js"

/** The ports that the example files name. */
const ports = { proxy: 8000, service: 8080, application: 3000 }
export type Ports = Readonly<Record<"service" | "application", number>>

export interface Proxy {
  readonly url: string
}

/** An application that answers with the method, path and body of a request, or breaks the connection on the path /break. */
export async function startApplication(): Promise<{ port: number; seen: IncomingMessage[] }> {
  const seen: IncomingMessage[] = []
  const server = createServer((request, response) => {
    seen.push(request)
    const body: Buffer[] = []
    request.on("data", (chunk: Buffer) => body.push(chunk))
    request.on("end", () => {
      if (request.url === "/break") request.socket.destroy()
      response.statusCode = Number(request.headers["x-wanted-status"] ?? 200)
      response.end(`${request.method} ${request.url} ${Buffer.concat(body)}`.trim())
    })
  })
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
  onTestFinished(() => {
    server.close()
    server.closeAllConnections()
  })
  return { port: (server.address() as AddressInfo).port, seen }
}

/** An example file with other ports. */
function example(name: string, proxy: number, { service, application }: Ports): string {
  const text = readFileSync(join(root, "examples/proxies", name), "utf8")
  return text
    .replaceAll(`127.0.0.1:${ports.service}`, `127.0.0.1:${service}`)
    .replaceAll(`127.0.0.1:${ports.application}`, `127.0.0.1:${application}`)
    .replace(`listen ${ports.proxy};`, `listen 127.0.0.1:${proxy};`)
    .replace(`:${ports.proxy} {`, `:${proxy} {`)
}

async function run(command: string, args: readonly string[], port: number, env = {}): Promise<Proxy> {
  // Debian has nginx in a folder that is on the PATH of root only.
  const PATH = `${process.env["PATH"]}:/usr/sbin`
  const program = startProgram(command, args, { env: { PATH, ...env } })
  onTestFinished(() => program.kill())
  const url = `http://127.0.0.1:${port}`
  await until(`${command} listens`, async () => {
    if (!program.isRunning) throw new Error(`${command} did not start: ${program.stderr}`)
    const socket = connect(port, "127.0.0.1")
    await once(socket, "connect")
    socket.destroy()
    return true
  })
  return { url }
}

/** Runs the real nginx with examples/proxies/nginx.conf. `change` may edit the file. */
export async function startNginx(to: Ports, change = (text: string) => text): Promise<Proxy> {
  const folder = temporaryFolder()
  const port = await freePort()
  writeFileSync(join(folder, "limits.conf"), change(example("nginx.conf", port, to)))
  const temporary = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
  const main = [
    // One process, so that no worker outlives it.
    ...["daemon off;", "master_process off;", `pid ${folder}/pid;`, "error_log stderr warn;"],
    "events { worker_connections 512; }",
    "http {",
    "access_log off;",
    ...temporary.map((name) => `${name}_temp_path ${folder}/${name};`),
    `include ${folder}/limits.conf;`,
    "}",
  ]
  const file = join(folder, "nginx.conf")
  writeFileSync(file, `${main.join("\n")}\n`)
  return run("nginx", ["-p", folder, "-e", "stderr", "-c", file], port)
}

/** Runs the real Caddy with examples/proxies/Caddyfile. `change` may edit the file. */
export async function startCaddy(to: Ports, change = (text: string) => text): Promise<Proxy> {
  const folder = temporaryFolder()
  const port = await freePort()
  const options = "{\n\tadmin off\n\tauto_https off\n\tdefault_bind 127.0.0.1\n}\n"
  const file = join(folder, "Caddyfile")
  writeFileSync(file, options + change(example("Caddyfile", port, to)))
  const env = { HOME: folder, XDG_DATA_HOME: folder, XDG_CONFIG_HOME: folder }
  return run("caddy", ["run", "--adapter", "caddyfile", "--config", file], port, env)
}
