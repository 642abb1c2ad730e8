// What must exist once in a process, even where the package is loaded twice: as ES modules and as CommonJS.

/** Raise it when the shape of anything shared changes, so that two releases in one process stay apart. */
const SHAPE = 1

/** A symbol that both copies of the package know. */
export function sharedSymbol(name: string): symbol {
  return Symbol.for(`sluice.${SHAPE}.${name}`)
}

/** An object that both copies of the package use: the first one to ask makes it. */
export function shared<T extends object>(name: string, make: () => T): T {
  const all = globalThis as unknown as Record<symbol, T>
  all[sharedSymbol(name)] ??= make()
  return all[sharedSymbol(name)] as T
}
