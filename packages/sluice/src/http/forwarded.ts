/**
 * The elements of a comma-separated header, from the right. The nearest proxy wrote the last element. Reading from the right
 * means that a client cannot change how that element is parsed, for example with an open quote further left.
 */
export function* elementsFromRight(value: string): Generator<string> {
  let end = value.length
  let quoted = false
  for (let i = value.length - 1; i >= 0; i -= 1) {
    const char = value[i]
    if (char === '"' && !(quoted && isEscaped(value, i))) quoted = !quoted
    if (char !== "," || quoted) continue
    yield value.slice(i + 1, end).trim()
    end = i
  }
  yield value.slice(0, end).trim()
}

/** No proxy writes a longer element. Longer ones are not parsed, which bounds the work on hostile headers. */
const LONGEST_ELEMENT = 512

/** The host in an element of `X-Forwarded-For`, which may carry a port, brackets or quotes. */
export function hostOf(element: string): string {
  if (element.length > LONGEST_ELEMENT) return ""
  return withoutPort(unquoted(element) ?? "")
}

/** The host in the parameter `for` of an element of `Forwarded`. Empty unless there is exactly one such parameter. */
export function forwardedHost(element: string): string {
  if (element.length > LONGEST_ELEMENT) return ""
  const hosts = parametersOf(element).filter(([name]) => name === "for")
  return hosts.length === 1 ? hostOf((hosts[0] as [string, string])[1]) : ""
}

function parametersOf(element: string): [string, string][] {
  const pairs = element.match(/(?:[^;"]|"(?:[^"\\]|\\.)*")+/g) ?? []
  return pairs.map((pair) => {
    const equals = pair.indexOf("=")
    return [pair.slice(0, Math.max(0, equals)).trim().toLowerCase(), pair.slice(equals + 1).trim()]
  })
}

/** Removes the quotes of a quoted string and leaves a token unchanged. Undefined if the quotes do not match. */
function unquoted(text: string): string | undefined {
  if (!text.includes('"')) return text
  return /^"((?:[^"\\]|\\.)*)"$/.exec(text)?.[1]?.replace(/\\(.)/g, "$1")
}

/** Drops the port of `1.2.3.4:80`, `[::1]:80` and `[::1]`. A bare IPv6 address has none. */
function withoutPort(text: string): string {
  const bracketed = /^\[([^\]]+:[^\]]*)\](?::[\w.-]{1,32})?$/.exec(text)
  if (bracketed !== null) return bracketed[1] as string
  const colon = text.indexOf(":")
  const alone = colon >= 0 && colon === text.lastIndexOf(":")
  return alone && /^[\w.-]{1,32}$/.test(text.slice(colon + 1)) ? text.slice(0, colon) : text
}

function isEscaped(text: string, index: number): boolean {
  let backslashes = 0
  while (text[index - 1 - backslashes] === "\\") backslashes += 1
  return backslashes % 2 === 1
}
