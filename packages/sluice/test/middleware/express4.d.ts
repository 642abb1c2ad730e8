// Express 4 is installed under another name, and the types of version 5 fit what the tests use.
declare module "express4" {
  import express from "express"
  export default express
}
