import type { ClientKeyOptions } from "./client-key.js"

/** The addresses from which Cloudflare connects to an origin, as listed on https://www.cloudflare.com/ips/. */
const cloudflareBlocks = [
  "103.21.244.0/22",
  "103.22.200.0/22",
  "103.31.4.0/22",
  "104.16.0.0/13",
  "104.24.0.0/14",
  "108.162.192.0/18",
  "131.0.72.0/22",
  "141.101.64.0/18",
  "162.158.0.0/15",
  "172.64.0.0/13",
  "173.245.48.0/20",
  "188.114.96.0/20",
  "190.93.240.0/20",
  "197.234.240.0/22",
  "198.41.128.0/17",
  "2400:cb00::/32",
  "2405:8100::/32",
  "2405:b500::/32",
  "2606:4700::/32",
  "2803:f800::/32",
  "2a06:98c0::/29",
  "2c0f:f248::/32",
] as const

/** Options of `clientKey` for common setups: `clientKey(behind.cloudflare)`. */
export const behind = {
  /** One proxy that appends to X-Forwarded-For, such as nginx, Caddy or HAProxy. Clients must not reach the server past it. */
  oneProxy: { trustProxy: 1 },
  /** An AWS Application Load Balancer, which appends to X-Forwarded-For. Clients must not reach the server past it. */
  awsAlb: { trustProxy: 1 },
  /** Cloudflare in front of this server. The header counts only on connections from Cloudflare's addresses. */
  cloudflare: { trustProxy: cloudflareBlocks, header: "cf-connecting-ip" },
  /** A function on Vercel, which overwrites this header on every request. */
  vercel: { trustProxy: 1, header: "x-vercel-forwarded-for" },
} as const satisfies Record<string, ClientKeyOptions>
