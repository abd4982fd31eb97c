import pg from 'pg'

const probeTimeoutMs = 2_000

/** The timeline of a server, which a promotion increments; undefined if the server accepts no writes. */
export const readTimeline = async (url: string): Promise<number | undefined> => {
  const client = new pg.Client({
    connectionString: url,
    application_name: 'kinora-probe',
    connectionTimeoutMillis: probeTimeoutMs,
    query_timeout: probeTimeoutMs,
  })
  client.on('error', () => undefined)
  try {
    await client.connect()
    const { rows } = await client.query<{ timeline: string | null }>(
      `select case when not pg_is_in_recovery() and current_setting('transaction_read_only') = 'off'
              then left(pg_walfile_name(pg_current_wal_lsn()), 8) end as timeline`,
    )
    const timeline = rows[0]?.timeline ?? null
    return timeline === null ? undefined : Number.parseInt(timeline, 16)
  } finally {
    client.connection.stream.destroy()
  }
}
