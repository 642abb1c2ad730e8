export declare const coreResults: Readonly<Record<string, unknown>>
export declare const redisResults: Readonly<Record<string, unknown>>
