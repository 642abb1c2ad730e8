// Copies the documents into packages/sluice for its tarball: without pictures, translations, history and pages for contributors, and with links that
// resolve there. The pages of the server go to packages/server.
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs"
import { dirname, join, posix, relative } from "node:path"
import { fileURLToPath } from "node:url"

const root = fileURLToPath(new URL("..", import.meta.url))
const target = join(root, "packages/sluice")
const manifest = JSON.parse(readFileSync(join(target, "package.json"), "utf8"))

/** The pages of the server, which are in its own package. */
const ofServer = ["service", "envoy", "proxies", "command-line"].map((name) => `docs/${name}.md`)
/** Left out: the longest page by far, the origins of the project, pages for contributors, and those of the server. */
const isLeftOut = (file) =>
  ["docs/benchmarks.md", "docs/seeds.md", ...ofServer].includes(file) || file.startsWith("docs/design/")

const pages = ["README.md", "COMPATIBILITY.md", "SECURITY.md"]
const docs = readdirSync(join(root, "docs"), { recursive: true })
  .filter((file) => file.endsWith(".md") && !/\.[a-z]{2}(-[A-Z]{2})?\.md$/.test(file))
  .map((file) => posix.join("docs", file.replaceAll("\\", "/")))
  .filter((file) => !isLeftOut(file))
const copied = new Set([...pages, ...docs, "LICENSE"].filter((file) => existsSync(join(root, file))))

/** Where the repository is on the web, at the tag of this version; undefined while package.json does not say. */
function onTheWeb() {
  const url = manifest.repository?.url ?? manifest.repository
  const name = /github\.com[/:]([\w.-]+\/[\w.-]+?)(\.git)?$/.exec(url ?? "")?.[1]
  return name && `https://github.com/${name}/blob/v${manifest.version}/`
}

const web = onTheWeb()

/** A link as the tarball needs it: what is not in the tarball leads to the web, or stays as words. */
function linkFrom(page, link, bang, text, address) {
  if (/^[a-z]+:|^#/.test(address)) return link
  const [path, anchor] = address.split("#")
  const file = posix.normalize(posix.join(posix.dirname(page), path)).replace(/\/$/, "")
  if (!bang && ofServer.includes(page) && ofServer.includes(file)) return link
  if (
    !bang &&
    !ofServer.includes(page) &&
    (copied.has(file) || docs.some((other) => other.startsWith(`${file}/`)))
  )
    return link
  if (web) return `${bang}[${text}](${web}${file}${bang ? "?raw=true" : ""}${anchor ? `#${anchor}` : ""})`
  return bang ? "" : text
}

/** Code blocks stay as they are. */
function forTarball(page, text) {
  const parts = text.split(/(^```[\s\S]*?^```$)/m)
  const links = /(!?)\[((?:[^[\]]|\[[^\]]*\])*)\]\(([^()\s]+)\)/g
  return parts
    .map((part) =>
      part.startsWith("```") ? part : part.replace(links, (...match) => linkFrom(page, ...match)),
    )
    .join("")
}

const server = join(root, "packages/server/docs")
rmSync(server, { recursive: true, force: true })
mkdirSync(server, { recursive: true })
for (const file of ofServer) {
  writeFileSync(join(server, posix.basename(file)), forTarball(file, readFileSync(join(root, file), "utf8")))
}
rmSync(join(target, "docs"), { recursive: true, force: true })
for (const file of readdirSync(target)) if (file.endsWith(".md")) rmSync(join(target, file))
for (const file of copied) {
  const text = readFileSync(join(root, file), "utf8")
  mkdirSync(dirname(join(target, file)), { recursive: true })
  writeFileSync(join(target, file), file.endsWith(".md") ? forTarball(file, text) : text)
}
copyFileSync(join(root, "LICENSE"), join(root, "packages/server/LICENSE"))
console.log(`${copied.size} documents copied to ${relative(root, target)}`)
