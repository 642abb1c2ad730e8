import type { Address } from "./config/config.js"

/** What the codes of the system mean for an address. */
const reasons: Readonly<Record<string, string>> = {
  EADDRINUSE: "is in use",
  EADDRNOTAVAIL: "is no address of this machine",
  EACCES: "needs more rights, as ports below 1024 often do",
  ENOTFOUND: "has a name that cannot be resolved",
}

/** The error of a listener that cannot start, with the address and what to do. gRPC has the code of the system only in its text. */
export function listenError(name: "http" | "grpc", { host, port }: Address, cause: Error): Error {
  const [code = ""] = /\bE[A-Z]{4,}\b/.exec(cause.message) ?? []
  const reason = reasons[code] ?? `cannot be used (${cause.message})`
  const address = host.includes(":") ? `[${host}]:${port}` : `${host}:${port}`
  const advice = `choose another address with --${name} or listen.${name}`
  return new Error(`${address} ${reason}; ${advice}`, { cause })
}
