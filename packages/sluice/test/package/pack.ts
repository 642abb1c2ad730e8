import { mkdtemp, readdir, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import type { TestProject } from "vitest/node"
import { root, run } from "./consumer.js"

declare module "vitest" {
  interface ProvidedContext {
    /** The folder of the unpacked tarball. */
    packed: string
    /** The tarball itself. */
    tarball: string
  }
}

/** Builds and packs the package once and hands the tests the tarball and its unpacked folder. */
export default async function pack(project: TestProject): Promise<() => Promise<void>> {
  const folder = await mkdtemp(join(tmpdir(), "sluice-pack-"))
  const remove = () => rm(folder, { recursive: true })
  try {
    await run(join(root, "packages/sluice"), "npm", "pack", "--pack-destination", folder)
    const [tarball = ""] = await readdir(folder)
    await run(folder, "tar", "-xzf", tarball)
    project.provide("tarball", join(folder, tarball))
  } catch (error) {
    await remove()
    throw error
  }
  project.provide("packed", join(folder, "package"))
  return remove
}
