import { mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterEach, beforeEach, expect, test, vi } from "vitest"
import type { Config } from "../../src/config/config.js"
import { loadSources, watchConfig } from "../../src/config/load.js"

let folder = ""
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "sluice-config-"))
})
afterEach(() => rmSync(folder, { recursive: true }))

const textOf = (limit: number) =>
  `limiters: { api: { policy: { algorithm: slidingLog, limit: ${limit}, window: 1s } } }\n`

function watched(path: string) {
  const configs: Config[] = []
  const errors: string[] = []
  const watch = watchConfig(
    [path],
    (config) => configs.push(config),
    (error) => errors.push((error as Error).message),
  )
  return { ...watch, configs, errors }
}

test("a file that changes is read again, and a bad one is refused once with the reason", async () => {
  const file = join(folder, "a.yaml")
  writeFileSync(file, textOf(1))
  const { configs, errors, stop } = watched(file)
  writeFileSync(file, "limiters: 7\n")
  await vi.waitFor(() => expect(errors).toEqual([`${file}:1:11: limiters must be a map, got 7`]), 5_000)
  writeFileSync(file, textOf(2))
  await vi.waitFor(() => expect(configs).toHaveLength(1), 5_000)
  expect(configs[0]?.limiters.get("api")?.policy).toMatchObject({ limit: 2 })
  expect(errors).toHaveLength(1)
  stop()
})

test("a link that changes its target is read again, as ConfigMaps need it", async () => {
  writeFileSync(join(folder, "one"), textOf(1))
  writeFileSync(join(folder, "two"), textOf(2))
  const link = join(folder, "current.yaml")
  symlinkSync(join(folder, "one"), link)
  const { configs, stop } = watched(link)
  rmSync(link)
  symlinkSync(join(folder, "two"), link)
  await vi.waitFor(() => expect(configs).toHaveLength(1), 5_000)
  expect(configs[0]?.limiters.get("api")?.policy).toMatchObject({ limit: 2 })
  stop()
})

test("a reload by hand reads the files at once, changed or not", () => {
  const file = join(folder, "a.yaml")
  writeFileSync(file, textOf(1))
  const { configs, reload, stop } = watched(file)
  reload()
  expect(configs).toHaveLength(1)
  stop()
})

test("a folder stands for its .yaml and .yml files, in the order of their names", () => {
  for (const name of ["b.yml", "a.yaml", "c.txt", ".hidden.yaml"]) writeFileSync(join(folder, name), "")
  expect(loadSources([folder]).map(({ name }) => name)).toEqual([
    join(folder, "a.yaml"),
    join(folder, "b.yml"),
  ])
})

test("a file that is not there is a problem with its name", () => {
  expect(() => loadSources([join(folder, "none.yaml")])).toThrow("none.yaml:1:1: there is no such file")
})

test("a folder without .yaml files is refused, so that an emptied folder does not end all limits", async () => {
  writeFileSync(join(folder, "c.txt"), "")
  const problem = `${folder}:1:1: the folder has no .yaml files`
  expect(() => loadSources([folder])).toThrow(problem)
  const file = join(folder, "a.yaml")
  writeFileSync(file, textOf(1))
  const { configs, errors, reload, stop } = watched(folder)
  rmSync(file)
  reload()
  expect([configs, errors]).toEqual([[], [problem]])
  stop()
})
