import { execFile } from "node:child_process"
import { mkdtemp, readFile, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { promisify } from "node:util"
import { command, startRedis } from "./redis-server.js"

export interface TlsServer {
  readonly host: "127.0.0.1"
  readonly port: number
  /** The certificate of the authority that has signed the server's. */
  readonly ca: string
  /** Sends one command as a user with all rights. */
  admin(...args: (string | number)[]): ReturnType<typeof command>
  stop(): Promise<void>
}

/** Starts a private server with TLS only, and a fresh certificate. */
export async function startTlsRedis(): Promise<TlsServer> {
  const dir = await mkdtemp(join(tmpdir(), "sluice-tls-"))
  const file = (name: string) => join(dir, name)
  try {
    await certify(file)
    const socket = file("admin.sock")
    const server = await startRedis({
      dir,
      socket,
      args: (port) => [
        ...["--port", "0", "--tls-port", String(port), "--unixsocket", socket, "--tls-auth-clients", "no"],
        ...["--tls-cert-file", file("server.crt"), "--tls-key-file", file("server.key")],
        ...["--tls-ca-cert-file", file("ca.crt")],
      ],
    })
    return {
      host: server.host,
      port: server.port,
      ca: await readFile(file("ca.crt"), "utf8"),
      admin: (...args) => command(socket, ...args),
      async stop() {
        await server.stop()
        await rm(dir, { recursive: true, force: true })
      },
    }
  } catch (error) {
    await rm(dir, { recursive: true, force: true })
    throw error
  }
}

/** Makes a certificate authority, and its certificate for this host. */
async function certify(file: (name: string) => string): Promise<void> {
  const openssl = (...args: string[]) => promisify(execFile)("openssl", args)
  const make = [
    "req",
    "-x509",
    "-days",
    "2",
    "-nodes",
    "-newkey",
    "ec",
    "-pkeyopt",
    "ec_paramgen_curve:P-256",
  ]
  const into = (name: string) => ["-keyout", file(`${name}.key`), "-out", file(`${name}.crt`)]
  await openssl(...make, ...into("ca"), "-subj", "/CN=authority of a test")
  await openssl(
    ...[
      ...make,
      ...into("server"),
      "-subj",
      "/CN=localhost",
      "-CA",
      file("ca.crt"),
      "-CAkey",
      file("ca.key"),
    ],
    ...["-addext", "subjectAltName=IP:127.0.0.1", "-addext", "basicConstraints=critical,CA:false"],
  )
}
