import { Tag } from '../ui/status.tsx'

/** An HTTP status. Only failures have a colour. */
export const StatusTag = ({ status }: { status: number }) => (
  <Tag color={status >= 500 ? 'red' : status >= 400 ? 'amber' : 'grey'}>{status}</Tag>
)
