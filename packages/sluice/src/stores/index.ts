export type { Algorithm, Explanation, Level } from "../algorithm.js"
export { type AnyAlgorithm, type Counting, countingOf, parametersOf } from "../algorithms/index.js"
export { type PolicyRef, policyRef, type StateRef, stateKey } from "../state-key.js"
export type {
  Mode,
  PolicyRequest,
  ReportBoard,
  RuleChange,
  RuleChanges,
  RuleEntry,
  RuleTable,
  Settlement,
  Store,
  Stored,
  StoredState,
  StoreReply,
  StoreRequest,
  Turn,
} from "../store.js"
