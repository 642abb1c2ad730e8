import type { Address, Config, Domain } from "../config/config.js"
import { isLoopback } from "../http/admin-guard.js"
import type { RunningServer } from "../serve.js"

/** What `serve` prints for a person: where it listens, and commands to try that work with this configuration. */
export function greeting({ http, grpc, context }: Pick<RunningServer, "http" | "grpc" | "context">): string {
  const { config } = context.engine
  const where = config.store.type === "memory" ? "in memory" : "in Redis"
  const lines = ["", `Sluice is running, with its state ${where}. Ctrl-C stops it.`]
  if (http !== undefined) {
    const base = `http://${urlHost(http)}:${http.port}`
    lines.push(...commands(base, http, config))
    lines.push("", `HTTP:  ${base}   (API: /openapi.json, metrics: /metrics)`)
  }
  if (grpc !== undefined) lines.push(`gRPC:  ${urlHost(grpc)}:${grpc.port}   (Envoy's rate limit protocol)`)
  return `${lines.join("\n")}\n\n`
}

function commands(base: string, { host }: Address, { limiters, domains, admin }: Config): string[] {
  const [name] = limiters.keys()
  const [domain] = domains.values()
  if (name === undefined) return domain === undefined ? [] : envoyCommand(base, domain)
  const path = `${base}/v1/limiters/${encodeURIComponent(name)}`
  const acquire = `  curl -i ${quoted(`${path}/acquire`)} ${bodyOf({ key: "alice" })}`
  // Without a token, admin calls work on loopback only.
  if (admin.token === undefined && !isLoopback(host)) return ["", "Ask whether alice may go on:", "", acquire]
  const token = admin.token === undefined ? "" : ` -H "authorization: Bearer $SLUICE_ADMIN_TOKEN"`
  const lines = ["", "Ask whether alice may go on, and look at what is left:", "", acquire]
  lines.push(`  curl ${quoted(`${path}/inspect?key=alice`)}${token}`)
  if (token !== "") lines.push("", "SLUICE_ADMIN_TOKEN stands for the admin token.")
  return lines
}

function envoyCommand(base: string, { name, descriptors }: Domain): string[] {
  const [rule] = descriptors
  if (rule === undefined) return []
  const { key, value = "alice" } = rule
  const body = { domain: name, descriptors: [{ entries: [{ key, value }] }] }
  return ["", "Ask as Envoy would, in JSON:", "", `  curl -i ${base}/json ${bodyOf(body)}`]
}

function bodyOf(body: object): string {
  return `-H 'content-type: application/json' -d ${quoted(JSON.stringify(body))}`
}

/** A word for the shell, in quotes if it needs them. */
function quoted(text: string): string {
  return /^[\w:/.%-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`
}

function urlHost({ host }: Address): string {
  if (host === "0.0.0.0" || host === "::") return "localhost"
  return host.includes(":") ? `[${host}]` : host
}
