import { type Finding, finding } from "./finding.js"

/** What to do about a server that does not answer. Errors of clients and of TLS say little about the cause. */
export function unreachable(url: string, error: string): Finding {
  const isSecure = url.startsWith("rediss:")
  if (/Unknown RESP type/.test(error)) {
    const fix = "Check the port: another service, such as a web server, listens there."
    return problem("the server does not speak the protocol of Redis", fix)
  }
  if (/certificate/i.test(error)) {
    return problem(error, "Set NODE_EXTRA_CA_CERTS to the file of the authority that signed the certificate.")
  }
  if (/ECONNREFUSED/.test(error))
    return problem(error, "Start Redis there, or correct the host and the port.")
  if (/ENOTFOUND|EAI_AGAIN/.test(error)) return problem(error, "Correct the name of the host.")
  const address = "Check the address and the firewall"
  if (isSecure) return problem(error, `${address}, and try redis:// if this port has no TLS.`)
  return problem(error, `${address}, and try rediss:// if this port has TLS.`)
}

function problem(message: string, fix: string): Finding {
  return finding("connection", "problem", message, fix)
}
