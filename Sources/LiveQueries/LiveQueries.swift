// LiveQueries
