import type { TranscriptSegment } from './transcript-card.tsx'

import styles from './run-view.module.css'

/** More would be thinner than a pixel. */
const segmentsMax = 300

interface SegmentBarProps {
  segments: TranscriptSegment[]
  durationS: number
  positionS: number
}

/** Where the segments are in the recording. */
export const SegmentBar = ({ segments, durationS, positionS }: SegmentBarProps) => {
  if (durationS === 0 || segments.length > segmentsMax) return null
  return (
    <div className={styles['segments']} aria-hidden>
      {segments.map(({ id, start, end }) => (
        <i
          key={id}
          data-heard={end <= positionS || undefined}
          data-current={(start <= positionS && positionS < end) || undefined}
          style={{ left: `${(start / durationS) * 100}%`, width: `${((end - start) / durationS) * 100}%` }}
        />
      ))}
    </div>
  )
}
