// Writes the pictures of the docs: npm run pictures. A test compares them with what the scripts draw.
import { writeFileSync } from "node:fs"
import { outage } from "./outage.js"
import { policies } from "./policies.js"
import { spacing } from "./spacing.js"

export const pictures = { policies, outage, spacing }

if (process.argv[2] === "--write") {
  for (const [name, draw] of Object.entries(pictures)) {
    writeFileSync(new URL(`../../docs/images/${name}.svg`, import.meta.url), await draw())
  }
}
