// A GraphQL server that charges each query by its cost: a field costs 1, and a list costs its items.
import express, { type Request } from "express"
import {
  buildSchema,
  type DocumentNode,
  type FieldNode,
  getOperationAST,
  getVariableValues,
  graphql,
  Kind,
  parse,
  type SelectionSetNode,
  validate,
} from "graphql"
import { fixedWindow } from "sluice"
import { rateLimit } from "sluice/express"

const schema = buildSchema(`
  type User { name: String!, friends(first: Int!): [User!]! }
  type Query { user(name: String!): User! }
`)

/** A field costs 1 and what it selects. A list costs that for each item that it may return. */
function costOfSelection(
  document: DocumentNode,
  variables: Readonly<Record<string, unknown>>,
  selected: SelectionSetNode,
): number {
  // Each fragment is added up once. A query may spread it many times.
  const fragments = new Map<string, number>()
  const fragment = (name: string): number => {
    const known = fragments.get(name)
    if (known !== undefined) return known
    const found = document.definitions.find(
      (node) => node.kind === Kind.FRAGMENT_DEFINITION && node.name.value === name,
    )
    const cost = found !== undefined && "selectionSet" in found ? costOf(found.selectionSet) : 0
    fragments.set(name, cost)
    return cost
  }
  const itemsOf = (field: FieldNode): number => {
    const first = field.arguments?.find(({ name }) => name.value === "first")?.value
    if (first?.kind === Kind.INT) return Math.max(1, Number(first.value))
    return first?.kind === Kind.VARIABLE ? Math.max(1, Number(variables[first.name.value])) : 1
  }
  const costOf = (set: SelectionSetNode | undefined): number =>
    (set?.selections ?? []).reduce((cost, node) => {
      if (node.kind === Kind.FRAGMENT_SPREAD) return cost + fragment(node.name.value)
      if (node.kind === Kind.INLINE_FRAGMENT) return cost + costOf(node.selectionSet)
      return cost + 1 + itemsOf(node) * costOf(node.selectionSet)
    }, 0)
  return costOf(selected)
}

/** The document of a query; undefined if it is not valid. */
function documentOf(query: string): DocumentNode | undefined {
  try {
    const document = parse(query)
    return validate(schema, document).length === 0 ? document : undefined
  } catch {
    return undefined
  }
}

/** The cost of a query, before it runs. A query that cannot run costs 1. */
function costOfQuery({ body: { query, variables = {}, operationName } }: Request): number {
  const document = documentOf(query)
  const operation = document && getOperationAST(document, operationName)
  if (document === undefined || operation === undefined || operation === null) return 1
  const { coerced } = getVariableValues(schema, operation.variableDefinitions ?? [], variables)
  if (coerced === undefined) return 1
  return Math.min(costOfSelection(document, coerced, operation.selectionSet), Number.MAX_SAFE_INTEGER)
}

class User {
  constructor(readonly name: string) {}
  friends({ first }: { first: number }): User[] {
    return Array.from({ length: first }, (_, index) => new User(`${this.name}-${index}`))
  }
}
const rootValue = { user: ({ name }: User) => new User(name) }

export const app = express()

app.post(
  "/graphql",
  express.json(),
  rateLimit({
    name: "graphql",
    policy: fixedWindow({ limit: 100, window: "1m" }),
    key: (request) => request.get("x-api-key") ?? "anonymous",
    cost: costOfQuery,
    onDenied: (_, { decision }) => ({
      body: { errors: [{ message: "Rate limited", extensions: { retryAfter: decision?.retryAfter } }] },
    }),
  }),
  async ({ body }, response) => {
    const { query, variables, operationName } = body
    response.json(
      await graphql({ schema, rootValue, source: query, variableValues: variables, operationName }),
    )
  },
)
