import { readFileSync } from "node:fs"
import { expect, test } from "vitest"
import { pictures } from "../../../../scripts/pictures/main.js"

test.each(Object.entries(pictures))(
  "docs/images/%s.svg is what the library does: npm run pictures",
  async (name, draw) => {
    const committed = readFileSync(new URL(`../../../../docs/images/${name}.svg`, import.meta.url), "utf8")
    expect(await draw()).toBe(committed)
  },
)

test("a picture of every policy has a row for each of the five", async () => {
  const picture = await pictures.policies()
  for (const name of ["fixedWindow", "slidingLog", "slidingWindow", "tokenBucket", "leakyBucket"]) {
    expect(picture).toContain(`>${name}</text>`)
  }
})
