/** A member of a structured field, with its parameters. Values are unparsed text. */
export interface Member {
  /** Only members of a dictionary have a name. */
  readonly name: string | undefined
  readonly value: string | undefined
  readonly parameters: ReadonlyMap<string, string | undefined>
}

const key = "[a-z*][a-z0-9_.*-]*"
const string = '"(?:[^"\\\\]|\\\\["\\\\])*"'
const token = "[A-Za-z*][A-Za-z0-9!#$%&'*+.^_`|~:/-]*"
const bare = `${string}|${token}|-?\\d{1,15}(?:\\.\\d{1,3})?|:[A-Za-z0-9+/=]*:|\\?[01]`
const inList = new RegExp(`(${bare})`, "y")
const inDictionary = new RegExp(`(${key})(?:=(${bare}))?`, "y")
const parameter = new RegExp(`; *(${key})(?:=(${bare}))?`, "y")
const comma = /[ \t]*,[ \t]*(?!$)/y

/** Parses a structured field (RFC 9651). Returns no members if any part is malformed or a list contains a list. */
export function membersOf(field: string, kind: "list" | "dictionary"): readonly Member[] {
  const text = field.trim()
  const members: Member[] = []
  let at = 0
  const next = (pattern: RegExp) => {
    pattern.lastIndex = at
    const match = pattern.exec(text)
    if (match !== null) at = pattern.lastIndex
    return match
  }
  do {
    const match = next(kind === "list" ? inList : inDictionary)
    if (match === null) return []
    const [name, value] = kind === "list" ? [undefined, match[1]] : [match[1], match[2]]
    const parameters = new Map<string, string | undefined>()
    for (let found = next(parameter); found !== null; found = next(parameter)) {
      parameters.set(found[1] as string, found[2])
    }
    members.push({ name, value, parameters })
  } while (next(comma) !== null)
  return at === text.length ? members : []
}
