import { expect, test } from "vitest"
// @ts-expect-error a script without types
import { wrongInChangelog } from "../../../../scripts/check-release.mjs"

const changelog = (heading: string, body = "### Added\n\n- Something.\n") =>
  `# Changelog\n\nAll of it.\n\n## ${heading}\n\n${body}\n## 1.1.0 (2026-01-01)\n\n- Older.\n`

test("a release is refused unless the changelog opens with its version and today's date", () => {
  const wrong = (heading: string, body?: string) =>
    wrongInChangelog(changelog(heading, body), "1.2.0", "2026-05-04")
  expect(wrong("1.2.0 (2026-05-04)")).toBe(undefined)
  expect(wrong("Unreleased")).toContain('"Unreleased"')
  expect(wrong("1.2.0 (2026-05-03)")).toContain("2026-05-04")
  expect(wrong("1.2.1 (2026-05-04)")).toContain('not "1.2.0 (2026-05-04)"')
  expect(wrong("1.2.0 (2026-05-04)", "")).toContain("nothing")
})
