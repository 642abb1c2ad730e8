export {
  type Change,
  createRules,
  type Rule,
  type RuleChoice,
  type RuleNotes,
  type Rules,
  type RuleTarget,
} from "./rules.js"
