/**
 * The end of a deletion: deletes the metadata in the usage of tasks or requests. `gone` is a query of the statement with their `id`
 * and `finished_at`, which leads to the partition.
 */
export const deleteUsageMetadata = (gone: string): string =>
  `delete from usage_metadata n using ${gone} g where n.day = (g.finished_at at time zone 'utc')::date and n.id = g.id`
