export { type FetchLimits, type FetchOptions, type LimitedFetch, limitedFetch } from "./limited-fetch.js"
