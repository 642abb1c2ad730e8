/** A URL of Redis without its user and password, for messages. It need not be a valid URL. */
export function withoutPassword(url: string): string {
  // Up to the last at sign, because a password may contain others.
  const access = /^(\w+:\/\/)?.*@/s
  return url.replace(access, "$1(hidden)@").replaceAll(/(password=)[^&#]*/gi, "$1(hidden)")
}
