/** The engine that produced a response, as reported by the provider. */
export interface Engine {
  name: string
  /** The preferred engine, if another one was used because it is missing. */
  wanted: string | undefined
}
