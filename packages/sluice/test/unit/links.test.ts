import { execFileSync } from "node:child_process"
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { expect, test } from "vitest"
import { anchorsIn, brokenLinks, documentsIn, linksIn } from "../support/links.js"

const root = fileURLToPath(new URL("../../../..", import.meta.url))

test("no link or anchor in any Markdown file of the repository is broken", () => {
  const tracked = execFileSync("git", ["ls-files", "*.md"], { cwd: root, encoding: "utf8" })
    .trim()
    .split("\n")
  const pages = [...new Set([...tracked.filter((file) => !/node_modules/.test(file)), ...documentsIn(root)])]
  expect(pages.length).toBeGreaterThan(30)
  expect(brokenLinks(root, pages)).toEqual([])
})

test("a missing file, a missing anchor and a path out of the folder are broken links; code holds none", () => {
  const folder = mkdtempSync(join(tmpdir(), "sluice-links-"))
  try {
    mkdirSync(join(folder, "docs"))
    writeFileSync(
      join(folder, "README.md"),
      `# Title\n[a](docs/a.md) [b](docs/b.md) [c](docs/a.md#part-2) [d](docs/a.md#part-3) [e](#title) [f](#titel)
[g](../outside) <img src="no.svg"> [h](https://x.example/) \`[i](none.md)\`\n\`\`\`md\n[j](none.md)\n\`\`\`\n[ref]: docs/none.md\n`,
    )
    writeFileSync(join(folder, "docs/a.md"), "# A\n## Part *2*\n")
    expect(documentsIn(folder)).toEqual(["README.md", "docs/a.md"])
    expect(brokenLinks(folder, documentsIn(folder)).map((each) => each.replace("README.md: ", ""))).toEqual([
      "docs/b.md",
      "docs/a.md#part-3",
      "#titel",
      "../outside",
      "docs/none.md",
      "no.svg",
    ])
  } finally {
    rmSync(folder, { recursive: true })
  }
})

test("anchors are those of GitHub: lower case, without marks, numbered when they repeat", () => {
  const text =
    "# `limiter.on(key)`\n## What's new?\n## Twice\n## Twice\n## STORE_UNKNOWN\n## 选择策略\n```sh\n# no heading\n```\n"
  expect([...anchorsIn(text)]).toEqual([
    "limiteronkey",
    "whats-new",
    "twice",
    "twice-1",
    "store_unknown",
    "选择策略",
  ])
  expect(linksIn('[a](b.md "title") [![p](p.svg)](c.md)')).toEqual(["b.md", "p.svg", "c.md"])
})
