import type { Config, StoreConfig } from "./config.js"
import { withoutPassword } from "./without-password.js"

const HIDDEN = "(hidden)"

/** A configuration that may be shown: plain objects without the token and without passwords. */
export function withoutSecrets({ admin, store, limiters, domains, ...rest }: Config) {
  return {
    ...rest,
    admin: { token: hidden(admin.token) },
    store: safeStore(store),
    limiters: Object.fromEntries(limiters),
    domains: Object.fromEntries(domains),
  }
}

function safeStore(store: StoreConfig): StoreConfig {
  if (store.type === "memory") return store
  const { servers } = store
  if ("url" in servers) return { ...store, servers: { url: withoutPassword(servers.url) } }
  if ("cluster" in servers) return { ...store, servers: { cluster: servers.cluster.map(withoutPassword) } }
  const { password, sentinelPassword, ...sentinel } = servers.sentinel
  const secrets = { password: hidden(password), sentinelPassword: hidden(sentinelPassword) }
  return { ...store, servers: { sentinel: { ...sentinel, ...secrets } } }
}

function hidden(secret: string | undefined): string | undefined {
  return secret === undefined ? undefined : HIDDEN
}
