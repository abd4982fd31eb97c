/**
 * The condition on metadata, an SQL expression of type jsonb; none without a filter. The keys and values are two further parameters
 * of the statement, so there is one statement for any number of keys: each connection stores every statement it has executed.
 */
export const matchMetadata = (
  metadata: string,
  filter: readonly (readonly [key: string, value: string])[],
  values: unknown[],
): string[] => {
  if (filter.length === 0) return []
  values.push(
    filter.map(([key]) => key),
    filter.map(([, value]) => value),
  )
  const wanted = `unnest($${values.length - 1}::text[], $${values.length}::text[]) as wanted (key, value)`
  return [`not exists (select from ${wanted} where ${metadata} ->> wanted.key is distinct from wanted.value)`]
}
