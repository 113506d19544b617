<?php
// Each request holds a lock on this file while it sleeps.
$file = fopen(__FILE__, 'r');
flock($file, LOCK_EX);
usleep(5000);
flock($file, LOCK_UN);
echo "done\n";
