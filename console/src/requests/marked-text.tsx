/** Explanations of the service have names between backticks. */
export const MarkedText = ({ text }: { text: string }) =>
  text.split('`').map((part, index) =>
    index % 2 === 1 ? (
      // The parts of a text do not move.
      <code key={index} className="mono">
        {part}
      </code>
    ) : (
      part
    ),
  )
