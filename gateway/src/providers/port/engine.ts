/** Which engine of a provider answered, where the provider says so. */
export interface Engine {
  name: string
  /** The engine that would have answered had it been there; undefined where the right one did. */
  wanted: string | undefined
}
