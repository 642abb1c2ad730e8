import { readdirSync, readFileSync, statSync } from "node:fs"
import { join } from "node:path"
import type { Config } from "./config.js"
import { ConfigError } from "./problems.js"
import { type ConfigSource, readConfig } from "./read-config.js"

/** Reads files, and all .yaml and .yml files of folders. A folder without any is refused: it would switch its limits off. */
export function loadSources(paths: readonly string[]): ConfigSource[] {
  return paths.flatMap((path) => {
    const found = read(path)
    if (found.length === 0) throw problemOf(path, "the folder has no .yaml files")
    return found
  })
}

function read(path: string): ConfigSource[] {
  try {
    if (!statSync(path).isDirectory()) return [{ name: path, text: readFileSync(path, "utf8") }]
    const names = readdirSync(path).filter((name) => /\.ya?ml$/.test(name) && !name.startsWith("."))
    return names
      .sort()
      .map((name) => ({ name: join(path, name), text: readFileSync(join(path, name), "utf8") }))
  } catch (error) {
    const { code = "" } = error as { code?: string }
    const said = { ENOENT: "there is no such file", EACCES: "the file cannot be read" }[code]
    throw problemOf(path, said ?? String(error))
  }
}

function problemOf(file: string, message: string): ConfigError {
  return new ConfigError([{ file, line: 1, column: 1, message }])
}

/** Milliseconds between two looks at the files. */
const INTERVAL = 1_000

export interface Watch {
  /** Looks at the files now, and takes the configuration even if they are the same. */
  reload(): void
  stop(): void
}

/**
 * Calls `onConfig` with each new content of the files, and `onError` when it cannot be used. It reads the files once a second instead of
 * watching them, because a ConfigMap of Kubernetes is a link that changes its target.
 */
export function watchConfig(
  paths: readonly string[],
  onConfig: (config: Config) => void,
  onError: (error: unknown) => void,
  /** The sources in force. A change since they were read is a new content. Default: the files as they are now. */
  initial?: readonly ConfigSource[],
): Watch {
  let known = initial === undefined ? snapshot(paths).text : textOf(initial)
  const look = (isForced: boolean) => {
    const { text, read } = snapshot(paths)
    if (text === known && !isForced) return
    known = text
    try {
      onConfig(read())
    } catch (error) {
      onError(error)
    }
  }
  const timer = setInterval(look, INTERVAL, false).unref()
  return { reload: () => look(true), stop: () => clearInterval(timer) }
}

function textOf(sources: readonly ConfigSource[]): string {
  return JSON.stringify(sources)
}

/** The present content of the files: a text to compare, and a function that reads it. */
function snapshot(paths: readonly string[]): { readonly text: string; read(): Config } {
  try {
    const sources = loadSources(paths)
    return { text: textOf(sources), read: () => readConfig(sources) }
  } catch (error) {
    const read = () => {
      throw error
    }
    return { text: String(error), read }
  }
}
