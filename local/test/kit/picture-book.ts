/** A page of a picture book, and the subjects that must appear on it. */
interface Page {
  prompt: string
  setting: string
  /** Names from the table of subjects, with their number if there are several. */
  subjects: string
}

const page = (prompt: string, setting: string, subjects: string): Page => ({ prompt, setting, subjects })

/** Everyday prompts, as in an English picture book. */
export const pictureBook: Page[] = [
  page('a cat in a garden', 'meadow', 'cat'),
  page('two children building a snowman', 'meadow', '2 child, snowman'),
  page('a red rose in a vase', 'room', 'rose, vase'),
  page('a dog running on the beach', 'water', 'dog'),
  page('a red car on a country road', 'meadow', 'car'),
  page('a train crossing a bridge', 'water', 'train, bridge'),
  page('a yellow flower in a meadow', 'meadow', 'flower'),
  page('a man walking in the rain', 'meadow', 'person'),
  page('a robot on Mars', 'mars', 'robot'),
  page('a white horse in a field', 'meadow', 'horse'),
  page('a bird flying over the sea', 'water', 'bird'),
  page('a little house in the forest', 'forest', 'house'),
  page('a village in the mountains', 'mountains', 'village'),
  page('a girl with a red balloon', 'meadow', 'child, toyBalloon'),
  page('lightning over the city at night', 'city', 'lightning'),
  page('a rocket flying to the stars', 'space', 'rocket'),
  page('a small boat on a lake at sunset', 'water', 'boat'),
  page('an apple tree on a hill', 'meadow', 'tree'),
  page('a black cat sitting on a sofa', 'room', 'cat'),
  page('a duck on a pond', 'water', 'duck'),
  page('a rabbit in the snow', 'meadow', 'rabbit'),
  page('a butterfly on a flower', 'meadow', 'butterfly, flower'),
  page('a castle on a hill', 'meadow', 'castle'),
  page('a lighthouse by the sea', 'water', 'lighthouse'),
  page('three orange fish in the sea', 'underwater', '3 fish'),
  page('a rainbow over a village', 'meadow', 'rainbow, village'),
  page('a boy flying a kite', 'meadow', 'child, kite'),
  page('a yellow school bus in the city', 'city', 'bus'),
  page('a brown bear in the woods', 'forest', 'bear'),
  page('a hot air balloon over the mountains at dawn', 'mountains', 'balloon'),
  page('an owl in the forest at night', 'forest', 'owl'),
  page('three sheep in a meadow', 'meadow', '3 sheep'),
  page('a red car and a blue house', 'meadow', 'car, house'),
  page('an elephant in the savanna', 'meadow', 'elephant'),
  page('a whale in the ocean', 'water', 'whale'),
  page('a grandmother walking in the park in autumn', 'meadow', 'person'),
  page('a birthday cake on a table', 'room', 'cake'),
  page('a teddy bear on a bed', 'room', 'teddy'),
  page('a dragon above a castle', 'mountains', 'dragon, castle'),
  page('an astronaut on the moon', 'moon', 'astronaut'),
]
