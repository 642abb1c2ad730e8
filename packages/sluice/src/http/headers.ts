import type { Decision } from "../decision.js"
import { checkFields, shown } from "../errors.js"
import { invalidOption } from "./invalid-option.js"
import { type ByPolicy, type Quota, quotasOf, resetSeconds, tightest, wholeSeconds } from "./quota.js"
import { sfBytes, sfInteger, sfString } from "./structured-field.js"

/** Which fields describe the limit. The drafts from 8 to 11 have one syntax. */
export type HeaderForm = "draft-11" | "draft-8" | "draft-7" | "draft-6" | "legacy"

export interface HeaderOptions {
  /** One form, or a draft and `"legacy"` together. Default: `"draft-11"`. */
  readonly form?: HeaderForm | readonly HeaderForm[] | undefined
  /** Public names by policy name, for policies whose own names clients should not see. */
  readonly names?: ByPolicy | undefined
  /** Units by policy name, such as `"content-bytes"`. By default a unit is a request. */
  readonly units?: ByPolicy | undefined
  /** Identifies the client's partition of the quota. The client sees it, so it must not be a secret. */
  readonly partitionKey?: string | undefined
  /** Lengthens Retry-After by up to this share at random, so that clients do not return all at once. Default: 0. */
  readonly jitter?: number | undefined
}

/** Header fields by name. */
export type HeaderFields = Record<string, string>

/** Writes the headers for the quotas of one request. `retryAfter` is 0 unless the request is denied. */
export type HeaderWriter = (quotas: readonly Quota[], retryAfter: number) => HeaderFields

/** Writes the headers of a response from its decision: the RateLimit fields, and Retry-After on a denial. */
export function rateLimitHeaders(decision: Decision, options: HeaderOptions = {}): HeaderFields {
  return headerWriter(options)(quotasOf(decision, options.names, options.units), decision.retryAfter)
}

/** Makes a header writer. It checks the options once, for many responses. */
export function headerWriter(options: HeaderOptions = {}): HeaderWriter {
  checkFields("INVALID_OPTION", "headers", options, ["form", "names", "units", "partitionKey", "jitter"])
  const { form = "draft-11", jitter = 0, partitionKey } = options
  const chosen = checkForms(form)
  if (typeof jitter !== "number" || !(jitter >= 0 && jitter <= 10)) {
    throw invalidOption(`headers.jitter must be from 0 to 10, got ${shown(jitter)}`)
  }
  const pk = partitionKey === undefined ? "" : `;pk=${sfBytes(partitionKey)}`
  return (quotas, retryAfter) => {
    const headers: HeaderFields = {}
    for (const each of chosen) writers[each](headers, quotas, pk)
    if (retryAfter > 0 && retryAfter < Number.POSITIVE_INFINITY) {
      const extra = Math.floor(retryAfter * jitter * Math.random())
      headers["Retry-After"] = sfInteger(wholeSeconds(retryAfter + extra))
    }
    return headers
  }
}

type Writer = (headers: HeaderFields, quotas: readonly Quota[], pk: string) => void

const currentDraft: Writer = (headers, quotas, pk) => {
  let [policies, states] = ["", ""]
  for (const quota of quotas) {
    const separator = policies === "" ? "" : ", "
    const name = sfString(quota.name)
    const qu = quota.unit === undefined ? "" : `;qu=${sfString(quota.unit)}`
    const window = sfInteger(wholeSeconds(quota.window))
    policies += `${separator}${name};q=${sfInteger(quota.limit)}${qu};w=${window}${pk}`
    states += `${separator}${name};r=${sfInteger(quota.remaining)};t=${sfInteger(resetSeconds(quota))}${pk}`
  }
  headers["RateLimit-Policy"] = policies
  headers["RateLimit"] = states
}

const writers: Readonly<Record<HeaderForm, Writer>> = {
  "draft-11": currentDraft,
  "draft-8": currentDraft,
  "draft-7"(headers, quotas) {
    const quota = tightest(quotas)
    const [limit, remaining] = [sfInteger(quota.limit), sfInteger(quota.remaining)]
    const RateLimit = `limit=${limit}, remaining=${remaining}, reset=${sfInteger(resetSeconds(quota))}`
    Object.assign(headers, { "RateLimit-Policy": olderPolicies(quotas), RateLimit })
  },
  "draft-6"(headers, quotas) {
    headers["RateLimit-Policy"] = olderPolicies(quotas)
    writeThree("RateLimit", headers, tightest(quotas), 0)
  },
  legacy(headers, quotas) {
    writeThree("X-RateLimit", headers, tightest(quotas), Date.now() / 1_000)
  },
}

function writeThree(prefix: string, headers: HeaderFields, quota: Quota, epochSeconds: number): void {
  headers[`${prefix}-Limit`] = sfInteger(quota.limit)
  headers[`${prefix}-Remaining`] = sfInteger(quota.remaining)
  headers[`${prefix}-Reset`] = sfInteger(epochSeconds + resetSeconds(quota))
}

/** The policies in the syntax of the older drafts, which allow each limit only once. */
function olderPolicies(quotas: readonly Quota[]): string {
  const byLimit = new Map<string, string>()
  for (const quota of quotas) {
    const limit = sfInteger(quota.limit)
    if (!byLimit.has(limit)) byLimit.set(limit, `${limit};w=${sfInteger(wholeSeconds(quota.window))}`)
  }
  return [...byLimit.values()].join(", ")
}

function checkForms(form: HeaderForm | readonly HeaderForm[]): readonly HeaderForm[] {
  const list = typeof form === "string" ? [form] : form
  const known = Object.keys(writers)
  if (!Array.isArray(list) || !list.every((each) => known.includes(each))) {
    const got = Array.isArray(list) ? list.map(shown).join(", ") : shown(form)
    throw invalidOption(`headers.form must be one of ${known.join(", ")}, got ${got}`)
  }
  if (list.filter((each) => each !== "legacy").length > 1) {
    throw invalidOption("headers.form takes one draft, because drafts share field names")
  }
  return list
}
