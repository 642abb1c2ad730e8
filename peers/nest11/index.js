export * as common from "@nestjs/common"
export * as core from "@nestjs/core"
export * as throttler from "@nestjs/throttler"
