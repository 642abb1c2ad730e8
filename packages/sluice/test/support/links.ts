import { existsSync, readdirSync, readFileSync, statSync } from "node:fs"
import { dirname, join, relative } from "node:path"

/** The Markdown files at the top of a folder and under its `docs`, relative to it. */
export function documentsIn(folder: string): string[] {
  const top = readdirSync(folder).filter((file) => file.endsWith(".md"))
  const docs = (readdirSync(join(folder, "docs"), { recursive: true }) as string[])
    .filter((file) => file.endsWith(".md"))
    .map((file) => join("docs", file))
  return [...top, ...docs].sort()
}

/** The text without code, in which nothing is a link or a heading. */
const withoutCode = (text: string) =>
  text.replaceAll(/^```[^\n]*\n[\s\S]*?^```/gm, "").replaceAll(/<!--[\s\S]*?-->/g, "")

/** The links of a document: in the text, as references, and as HTML. */
export function linksIn(text: string): string[] {
  const plain = withoutCode(text).replaceAll(/`[^`\n]*`/g, "`code`")
  return [
    ...plain.matchAll(/\]\(\s*<?([^()\s>]+(?:\([^()\s]*\))?)>?(?:\s+"[^"]*")?\s*\)/g),
    ...plain.matchAll(/^\[[^\]]+\]:\s*(\S+)/gm),
    ...plain.matchAll(/<(?:a|img|source)\s[^>]*?(?:href|src|srcset)="([^"]+)"/g),
  ].map(([, target]) => target as string)
}

/** The anchors of a document, as GitHub makes them from its headings. */
export function anchorsIn(text: string): Set<string> {
  const anchors = new Set<string>()
  const plain = withoutCode(text)
  for (const [, heading] of plain.matchAll(/^ {0,3}#{1,6}\s+(.+?)\s*#*$/gm)) {
    const words = (heading as string).replaceAll(/!?\[([^\]]*)\]\([^)]*\)/g, "$1").toLowerCase()
    const slug = words.replaceAll(/[^\p{L}\p{M}\p{N}\p{Pc}\- ]/gu, "").replaceAll(" ", "-")
    let anchor = slug
    for (let n = 1; anchors.has(anchor); n += 1) anchor = `${slug}-${n}`
    anchors.add(anchor)
  }
  for (const [, id] of plain.matchAll(/<[a-z]+\s[^>]*?(?:id|name)="([^"]+)"/g)) anchors.add(id as string)
  return anchors
}

/** The links that lead nowhere, as `page: link`. Links to other hosts are not followed. */
export function brokenLinks(folder: string, pages: readonly string[]): string[] {
  const read = (file: string) => readFileSync(file, "utf8")
  return pages.flatMap((page) => {
    const file = join(folder, page)
    const isBroken = (link: string): boolean => {
      if (/^[a-z][a-z+.-]*:/i.test(link)) return false
      const [path = "", anchor] = link.split("#")
      const target = path === "" ? file : join(dirname(file), decodeURIComponent(path))
      if (!existsSync(target) || relative(folder, target).startsWith("..")) return true
      if (anchor === undefined || anchor === "" || statSync(target).isDirectory()) return anchor === ""
      // a line of a source file
      if (!target.endsWith(".md")) return !/^L\d+(-L\d+)?$/.test(anchor)
      return !anchorsIn(read(target)).has(decodeURIComponent(anchor))
    }
    return linksIn(read(file))
      .filter(isBroken)
      .map((link) => `${page}: ${link}`)
  })
}
